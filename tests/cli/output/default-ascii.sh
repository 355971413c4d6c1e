# If the locale is not UTF-8, the drawing is in ASCII.
LC_ALL=C fathom topo --device sim:gtx980 | head -n 12
