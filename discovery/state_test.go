package discovery

import (
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/classify"
)

// TestState_Numbers: discovery.json has types and methods by their numbers (seen.encode), five bits
// and three. Where these change, a state that is stored already would be read as something else.
func TestState_Numbers(t *testing.T) {
	var types []classify.Type
	for c := range classify.Classes {
		types = append(types, classify.Class(c).Type())
	}
	const want = "version 1: [news press_release faq policy guide announcement legislation regulation statistics " +
		"report publication event " +
		"service contact about archive search multimedia download form calendar directory unknown] " +
		"[ generated link sitemap research news_sitemap feed]"
	if got := fmt.Sprintf("version %d: %v %v", stateVersion, types, methods); got != want {
		t.Errorf("raise stateVersion with the numbers, and write down here what it stands for:\n%s\nwant\n%s", got,
			want)
	}
	if classify.Classes > 1<<5 || len(methods) > 1<<3 {
		t.Errorf("%d types, %d methods", classify.Classes, len(methods))
	}
}
