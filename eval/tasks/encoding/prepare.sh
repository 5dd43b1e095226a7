printf 'Zo\353\r\nJos\351\r\nAnna\r\nJos\351\r\nJ\374rgen\r\n' > export.txt
printf 'Zoë\nJosé\nŁukasz\nZoë\n' > new.txt
