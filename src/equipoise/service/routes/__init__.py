"""The routes, one file a subject. Every one of them names the role it is for."""
