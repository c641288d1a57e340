"""One registry over two datacenters: whose schemas they are, what differs, and how they come home."""
