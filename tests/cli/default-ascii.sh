# Where the locale is not UTF-8, the drawing is ASCII.
LC_ALL=C fathom 2>/dev/null | head -n 12
