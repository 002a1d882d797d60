package info

import "slices"

// Merge combines articles of several sources: one per URL in any spelling, and one per id. The first description
// stays and is completed by the others. repeated is the number of others. The order is that of the first
// descriptions.
func Merge(articles []Article) (merged []Article, repeated int) {
	byKey, byID := map[string]int{}, map[string]int{}
	for _, a := range articles {
		i, known := byKey[a.Key]
		if !known {
			i, known = byID[a.ID]
		}
		if known {
			merged[i].complete(a)
			repeated++
			continue
		}
		byKey[a.Key], byID[a.ID] = len(merged), len(merged)
		merged = append(merged, a)
	}
	return merged, repeated
}

// complete fills missing fields from another description of the article.
func (a *Article) complete(b Article) {
	for _, f := range []struct {
		own *string
		new string
	}{
		{&a.Snippet, b.Snippet}, {&a.SourceIconURL, b.SourceIconURL}, {&a.ThumbnailURL, b.ThumbnailURL},
		{&a.VideoURL, b.VideoURL}, {&a.AITag, b.AITag},
	} {
		if *f.own == "" {
			*f.own = f.new
		}
	}
	if len(a.Keywords) == 0 {
		a.Keywords = slices.Clone(b.Keywords)
	}
	if a.Category == "" {
		a.Category, a.Evidence = b.Category, b.Evidence
	}
}
