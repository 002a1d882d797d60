-- The terms of the search index, among which those with a long beginning, as in "climat*", are looked up.
CREATE VIRTUAL TABLE news_search_terms USING fts5vocab(news_search, instance);
