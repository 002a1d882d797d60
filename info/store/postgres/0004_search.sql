-- What an article is searched by: its grams, their beginnings of the lengths of which D1 has lists, too, and the stretches of time in
-- which it stands, of 512 seconds and 8, 64 and 512 times as much. Beginnings and stretches begin with characters for
-- private use, of which there are none in grams. As one value, so that a search for words in a stretch reads no more of their
-- lists than that of the stretch spans. Its index takes the place of that of grams alone.
CREATE FUNCTION news_terms(grams TSVECTOR, at TIMESTAMPTZ) RETURNS TSVECTOR IMMUTABLE LANGUAGE sql AS $$
SELECT coalesce(grams, '') || array_to_tsvector(array(
  SELECT DISTINCT chr(57348) || left(gram, size) FROM unnest(tsvector_to_array(grams)) AS gram, unnest(array[1, 3, 4]) AS size
  WHERE length(gram) >= size AND (size > 1) = (length(gram) > 2)
  UNION ALL SELECT chr(57344 + level) || (floor(extract(epoch FROM at AT TIME ZONE 'UTC'))::bigint >> (9 + 3 * level)) FROM generate_series(0, 3) AS level))
$$;

CREATE INDEX idx_news_terms ON news_articles USING gin (news_terms(grams, published_at)) WITH (fastupdate = off);
DROP INDEX idx_news_search;
