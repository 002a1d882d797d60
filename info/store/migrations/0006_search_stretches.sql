-- The search index again, with the stretches of time in which an article stands as grams of their own (see stretchesOf in
-- d1.go): a search for words that hardly ever meet looks through those next to its cursor, where it had read the lists of
-- its words to the end. What is indexed already is taken from the index, since nothing else has it.
CREATE TABLE news_search_before AS SELECT doc, group_concat(term, ' ' ORDER BY "offset") AS grams FROM news_search_terms GROUP BY doc;
DROP TABLE news_search_terms;
DROP TABLE news_search;
CREATE VIRTUAL TABLE news_search USING fts5(grams, content='', contentless_delete=1, prefix='1 3 4', tokenize="unicode61 remove_diacritics 0");
INSERT INTO news_search (rowid, grams) SELECT doc, grams || ' ' || char(57344) || (s >> 9) || ' ' || char(57345) || (s >> 12) || ' ' ||
char(57346) || (s >> 15) || ' ' || char(57347) || (s >> 18) FROM (SELECT doc, grams, (doc >> 20) / 1000 AS s FROM news_search_before) ORDER BY doc;
DROP TABLE news_search_before;
CREATE VIRTUAL TABLE news_search_terms USING fts5vocab(news_search, instance);
