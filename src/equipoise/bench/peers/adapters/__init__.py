"""One file a package: from a coded table to rows through its public interface. Run by `entry.py`, over there."""
