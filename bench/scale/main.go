// Command scale plays a day of one shard of the frontier, with its real rules on real SQLite and its own clock, at
// the load of docs/scale.md divided by a factor. It prints what the day costs and which limit is met first.
//
// The work that one domain, look or page needs does not depend on the number of domains, so counts grow linearly:
// the day is played at two sizes, and the figures of both stand side by side. The time of a call grows with the shard.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"time"
)

func main() {
	factor := flag.Int("factor", 20, "what the load is divided by, 1 to 400")
	page := flag.String("doc", "docs/scale.md", "the page with prices, operations and limits")
	flag.Parse()
	log.SetFlags(0)
	if *factor < 1 || *factor > 400 {
		log.Fatalf("factor must be between 1 and 400, got %d", *factor)
	}
	text, err := os.ReadFile(*page)
	if err != nil {
		log.Fatal(err)
	}
	var sizes []*figures
	for _, f := range []int{2 * *factor, *factor} {
		began := time.Now()
		log.Printf("playing a %dth of the day …", f)
		d, err := play(f)
		if err != nil {
			log.Fatal(err)
		}
		log.Printf("%d domains, %d calls in %v", len(d.sites), d.calls(), time.Since(began).Round(time.Second))
		sizes = append(sizes, figuresOf(d, document(text)))
	}
	for _, line := range table(sizes[0], sizes[1]) {
		fmt.Println(line)
	}
}
