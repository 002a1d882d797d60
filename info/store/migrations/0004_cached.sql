-- What each category was last written to the cache as; '' while it is being written.
CREATE TABLE news_cached (
  category TEXT PRIMARY KEY NOT NULL,
  digest   TEXT NOT NULL
) WITHOUT ROWID;
