package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

// hint complains about a selection that matched nothing because the engine has no partition with one of its values,
// such as a category with a typing error.
func (r *remote) hint(ctx context.Context) {
	if r.selected == nil {
		return
	}
	p := r.selected()
	if p.Country == "" && p.Category == "" {
		return // a day without files is no mistake
	}
	s, err := r.status(ctx, queryOf("by", "partition"))
	// which may be only the newest
	if err != nil || len(s.Partitions) == 0 || len(s.Partitions) == contract.MaxPartitions {
		return
	}
	var countries, categories []string
	for _, s := range s.Partitions {
		countries, categories = append(countries, s.Partition.Country), append(categories, s.Partition.Category)
	}
	for _, part := range [...]struct {
		name, value string
		there       []string
	}{{"country", p.Country, countries}, {"category", p.Category, categories}} {
		if part.value == "" || slices.Contains(part.there, part.value) {
			continue
		}
		slices.Sort(part.there)
		there := slices.Compact(part.there)
		text := fmt.Sprintf("there is nothing of the %s %q", part.name, part.value)
		if best := nearest(part.value, there); best != "" {
			text += fmt.Sprintf("; did you mean %q?", best)
		} else {
			text += ", only of " + strings.Join(there[:min(len(there), 10)], ", ")
		}
		r.complain("%s", text)
	}
}

// maxLooked is the number of domains that are searched for the one that was meant.
const maxLooked = 1000

// perhaps adds to the error that there is no such domain the name of one that was probably meant.
func (r *remote) perhaps(ctx context.Context, name string, err error) error {
	var answer *client.Error
	if !errors.As(err, &answer) || answer.Code != "not_found" && answer.Field != "domain" {
		return err
	}
	var names []string
	query := queryOf("limit", "200")
	for len(names) < maxLooked {
		var page contract.DomainPage
		if r.Call(ctx, client.Request{Method: "GET", Path: []string{"seeds", "domains"}, Query: query}, &page) != nil {
			break // the error is told without
		}
		for i := range page.Domains {
			names = append(names, page.Domains[i].Domain)
		}
		if page.Cursor == nil || len(page.Domains) == 0 {
			break
		}
		query.Set("cursor", *page.Cursor)
	}
	if slices.Contains(names, name) { // in another partition
		return err
	}
	best := nearest(name, names)
	if within := slices.IndexFunc(names, func(n string) bool { return strings.Contains(n, name) }); within >= 0 {
		best = names[within]
	} else if best != "" && editDistance(name, best) > 2 { // the ends of names are often alike
		best = ""
	}
	if best != "" {
		answer.Message += fmt.Sprintf("; did you mean %q?", best)
	}
	return err
}

// nearest returns the word that s was probably meant to be; "" if none is close.
func nearest(s string, words []string) (best string) {
	least := len(s)/2 + 1
	for _, w := range words {
		d := editDistance(s, w)
		if strings.HasPrefix(w, s) {
			d = 1
		}
		if d < least {
			best, least = w, d
		}
	}
	return best
}

// editDistance is the number of bytes to insert, delete or replace in a for it to become b (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
