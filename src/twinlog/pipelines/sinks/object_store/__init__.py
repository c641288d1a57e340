"""Files in folders or in S3, one after the other, exactly once."""
