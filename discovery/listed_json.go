package discovery

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
)

// AppendJSON appends what json.Marshal returns, in less than half of its time: a discovery is most of a document.
func (d *Discovery) AppendJSON(b []byte) []byte {
	b = append(slices.Grow(b, 1024*(1+len(d.URLs))), `{"discovered_urls":`...)
	b = appendList(b, d.URLs, func(b []byte, u *DiscoveredURL) []byte { return u.append(b) })
	if d.URLsOmitted != 0 {
		b = appendInt(b, `,"discovered_urls_omitted":`, d.URLsOmitted)
	}
	b = appendList(append(b, `,"url_patterns":`...), d.Patterns,
		func(b []byte, p *URLPattern) []byte { return p.append(b) })
	if d.PatternsOmitted != 0 {
		b = appendInt(b, `,"url_patterns_omitted":`, d.PatternsOmitted)
	}
	b = appendCategories(append(b, `,"content_categories":`...), d.Categories)
	b = appendInt(b, `,"crawl_strategy":{"max_depth":`, d.Strategy.MaxDepth)
	b = appendInt(b, `,"max_urls_per_category":`, d.Strategy.MaxURLsPerCategory)
	b = appendTexts(append(b, `,"allowed_patterns":`...), d.Strategy.AllowedPatterns)
	b = strconv.AppendBool(append(b, `,"respect_robots":`...), d.Strategy.RespectRobots)
	b = append(append(b, `},"discovery_stats":`...), encoded(d.Stats)...)
	b = append(append(b, `,"errors":`...), encoded(d.Errors)...)
	if d.ErrorsOmitted != 0 {
		b = appendInt(b, `,"errors_omitted":`, d.ErrorsOmitted)
	}
	return append(b, '}')
}

func (u *DiscoveredURL) append(b []byte) []byte {
	b = appendText(append(b, `{"url":`...), u.URL)
	b = appendOptional(append(b, `,"raw_url":`...), u.RawURL)
	b = append(b, `,"allowed":`...)
	if u.Allowed == nil {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendBool(b, *u.Allowed)
	}
	b = appendOptional(append(b, `,"title":`...), u.Title)
	b = appendOptional(append(b, `,"language":`...), u.Language)
	b = append(b, `,"lastmod":`...)
	if u.Lastmod == nil {
		b = append(b, "null"...)
	} else {
		b = u.Lastmod.Append(b)
	}
	c, e := &u.Classification, &u.Classification.Evidence
	b = appendText(append(b, `,"classification":{"primary_type":`...), c.PrimaryType)
	b = appendTexts(append(b, `,"secondary_types":`...), c.SecondaryTypes)
	b = contract.AppendFloat(append(b, `,"confidence":`...), c.Confidence)
	b = appendTexts(append(b, `,"evidence":{"url_patterns":`...), e.URLPatterns)
	b = appendTexts(append(b, `,"keyword_matches":`...), e.KeywordMatches)
	b = appendTexts(append(b, `,"keyword_sources":`...), e.KeywordSources)
	b = appendTexts(append(b, `,"structural_hints":`...), e.StructuralHints)
	b = appendTexts(append(b, `,"domain_context":`...), e.DomainContext)
	v := &u.NewsValue
	b = contract.AppendFloat(append(b, `}},"news_value":{"news_relevance":`...), v.Relevance)
	b = contract.AppendFloat(append(b, `,"timeliness":`...), v.Timeliness)
	b = contract.AppendFloat(append(b, `,"authority":`...), v.Authority)
	b = contract.AppendFloat(append(b, `,"accessibility":`...), v.Accessibility)
	b = appendText(append(b, `,"update_frequency":`...), v.Frequency)
	b = contract.AppendFloat(append(b, `,"overall_score":`...), v.Overall)
	b = appendText(append(b, `},"discovery_method":`...), u.Method)
	b = appendText(append(b, `,"parent_category":`...), u.ParentCategory)
	b = appendOptional(append(b, `,"changefreq":`...), u.Changefreq)
	b = append(b, `,"sitemap_priority":`...)
	if u.SitemapPriority == nil {
		b = append(b, "null"...)
	} else {
		b = contract.AppendFloat(b, *u.SitemapPriority)
	}
	b = contract.AppendFloat(append(b, `,"priority_score":`...), u.Priority)
	return append(appendText(append(b, `,"recommended_action":`...), u.Action), '}')
}

func (p *URLPattern) append(b []byte) []byte {
	b = appendText(append(b, `{"pattern":`...), p.Pattern)
	b = appendText(append(b, `,"content_type":`...), p.ContentType)
	b = contract.AppendFloat(append(b, `,"confidence":`...), p.Confidence)
	b = appendTexts(append(b, `,"examples":`...), p.Examples)
	return append(append(append(b, `,"observed":`...), encoded(p.Observed)...), '}')
}

func appendCategories(b []byte, categories map[classify.Type]Category) []byte {
	if categories == nil {
		return append(b, "null"...)
	}
	b = append(b, '{')
	for i, t := range slices.Sorted(maps.Keys(categories)) {
		if i > 0 {
			b = append(b, ',')
		}
		c := categories[t]
		b = appendInt(append(appendText(b, t), ':'), `{"count":`, c.Count)
		b = appendTexts(append(b, `,"examples":`...), c.Examples)
		b = append(contract.AppendFloat(append(b, `,"avg_priority":`...), c.AveragePriority), '}')
	}
	return append(b, '}')
}

// appendList appends a list, null for nil.
func appendList[T any](b []byte, list []T, one func([]byte, *T) []byte) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, &list[i])
	}
	return append(b, ']')
}

func appendTexts[T ~string](b []byte, list []T) []byte {
	return appendList(b, list, func(b []byte, s *T) []byte { return appendText(b, *s) })
}

func appendOptional(b []byte, s *string) []byte {
	if s == nil {
		return append(b, "null"...)
	}
	return appendText(b, *s)
}

// appendText appends a string as json.Marshal does, which escapes what HTML might take for markup.
func appendText[T ~string](b []byte, s T) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c >= utf8.RuneSelf {
			return append(b, encoded(s)...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// appendInt appends before and a number.
func appendInt(b []byte, before string, n int) []byte {
	return strconv.AppendInt(append(b, before...), int64(n), 10)
}

// encoded returns plain data as json.Marshal does.
func encoded(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
