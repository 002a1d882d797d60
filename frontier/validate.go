package frontier

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

func (r *LeaseRequest) Validate() error {
	if err := CheckRange("max", r.Max, 1, MaxLease); err != nil {
		return err
	}
	if err := CheckRange("lease_seconds", r.Seconds, MinLeaseSeconds, MaxLeaseSeconds); err != nil {
		return err
	}
	if r.PerHost = max(r.PerHost, 1); r.PerHost > MaxPerHost {
		return CheckRange("per_host", r.PerHost, 1, MaxPerHost)
	}
	r.MaxHosts = cmp.Or(r.MaxHosts, MaxLease)
	if err := CheckRange("max_hosts", r.MaxHosts, 1, MaxLease); err != nil {
		return err
	}
	if err := CheckScraper("scraper", r.Scraper); err != nil {
		return err
	}
	for _, kind := range r.Kinds {
		if kind != KindPage && kind != KindEntry {
			return contract.Invalid("kinds", "%.80q is not a kind; send %q or %q", kind, KindPage, KindEntry)
		}
	}
	return nil
}

// Room returns the number of items that a lease of so many items and hosts may still take.
func (r *LeaseRequest) Room(items, hosts int) int {
	return min(r.Max-items, (r.MaxHosts-hosts)*r.PerHost)
}

// CheckForget rejects all but what can be forgotten of a host; "" stands for nothing.
func CheckForget(what string) error {
	switch what {
	case "", ForgetFailures, ForgetTraps, ForgetAll:
		return nil
	}
	return contract.Invalid("forget", "%.80q cannot be forgotten; send %q, %q or %q", what, ForgetFailures, ForgetTraps,
		ForgetAll)
}

// CheckScraper rejects what cannot be the name of a scraper; "" stands for a scraper without a name.
func CheckScraper(field, name string) error {
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i == 0 || c != '.' && c != '_' && c != '-':
			return contract.Invalid(field,
				"%.80q is not a name; send up to %d letters, digits, dots, hyphens and underscores", name, MaxScraper)
		}
	}
	if len(name) > MaxScraper {
		return contract.Invalid(field, "%.80q has %d characters; send at most %d", name, len(name), MaxScraper)
	}
	return nil
}

// Wants identifies everything that a lease asks for except Max and MaxHosts.
func (r *LeaseRequest) Wants() string {
	wants := fmt.Sprintf("%s/%s/%q/%q", r.Country, r.Category, r.Types, r.Kinds)
	if r.Domain != "" || r.Host != "" || r.MinScore > 0 {
		wants += fmt.Sprintf("/%s/%s/%d", r.Domain, r.Host, r.MinScore)
	}
	return wants
}

func (r *Report) Validate() error {
	if err := CheckScraper("scraper", r.Scraper); err != nil {
		return err
	}
	if err := CheckRange("results", len(r.Results), 0, MaxResults); err != nil {
		return err
	}
	found := 0
	for i := range r.Results {
		found += len(r.Results[i].Found)
	}
	if err := CheckRange("urls", found, 0, MaxFound); err != nil {
		return err
	}
	for i := range r.Results {
		if err := r.Results[i].validate("results[" + strconv.Itoa(i) + "]."); err != nil {
			return err
		}
	}
	return nil
}

// MaxWait is the longest delay, in seconds, that an operator may set.
const MaxWait = int64(366 * epoch.Day / time.Second)

func (r *Result) validate(field string) error {
	if r.Status != 0 {
		if err := CheckRange(field+"status", r.Status, 200, 599); err != nil {
			return err
		}
	}
	if r.RetryAfter < 0 {
		return contract.Invalid(field+"retry_after_seconds", "%d is negative; send seconds", r.RetryAfter)
	}
	r.RetryAfter = min(r.RetryAfter, int64(contract.MaxObeyed/time.Second))
	return nil
}

// CheckRange reports a number out of its bounds.
func CheckRange[T int | int64](field string, v, least, most T) error {
	if v < least || v > most {
		return contract.Invalid(field, "%d is out of range; send %d to %d", v, least, most)
	}
	return nil
}
