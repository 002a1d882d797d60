-- The search index again, with lists of beginnings of its own: of one character, as which a single one of Korean,
-- Chinese or Japanese is searched for, and of three and four, as in "sol*" and "sola*". Without them the lists of all
-- grams that begin so are merged, which takes a second for 100,000 articles. What is indexed already is
-- taken from the index, since nothing else has it.
CREATE VIRTUAL TABLE news_search_instances USING fts5vocab(news_search, instance);
CREATE TABLE news_search_before AS SELECT doc, group_concat(term, ' ' ORDER BY "offset") AS grams FROM news_search_instances GROUP BY doc;
DROP TABLE news_search_instances;
DROP TABLE news_search;
CREATE VIRTUAL TABLE news_search USING fts5(grams, content='', contentless_delete=1, prefix='1 3 4', tokenize="unicode61 remove_diacritics 0");
INSERT INTO news_search (rowid, grams) SELECT doc, grams FROM news_search_before;
DROP TABLE news_search_before;
