"""The engine of a link: its life, its supervision, and what the switch lets it do."""
