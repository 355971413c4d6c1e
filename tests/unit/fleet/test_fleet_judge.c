#include "made_fleet.h"
int main(void) { return 0; }
