package info

import "slices"

// Merge puts articles of several sources together: one article a URL in any spelling, and one an id. The
// first description stays, and takes from the others what it lacks. Articles are in the order of their
// first description; repeated is how many others there were.
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

// complete takes from another description of the article what this one lacks.
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
