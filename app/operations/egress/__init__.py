"""Network access of programs by host name, through a proxy outside their sandbox."""
