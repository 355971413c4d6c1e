/* A library that defines a function. */
int next_value(void);
int next_value(void)
{
    return 1;
}
