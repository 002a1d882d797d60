package contract

import (
	"regexp"
	"time"
)

// Partition names one day of one category of one country: the unit in which raw files arrive and
// contracts are written (key segments country=, category=, date=).
type Partition struct {
	Country  string `json:"country"`  // ISO 3166-1 alpha-2, lower case
	Category string `json:"category"` // lower case letters, digits, _ and -
	Date     string `json:"date"`     // YYYY-MM-DD
}

var (
	countryForm  = regexp.MustCompile(`^[a-z]{2}$`)
	categoryForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
)

// CheckCountry, CheckCategory and CheckDate validate one part of a partition; field is the name
// the caller used for it, repeated in the error.
func CheckCountry(field, v string) error {
	if !countryForm.MatchString(v) {
		return Invalid(field, "%q is not a country; send two lower-case letters such as %q", clip(v), "sg")
	}
	return nil
}

// CheckCategory accepts 1 to 64 lower-case letters, digits, "_" and "-".
func CheckCategory(field, v string) error {
	if !categoryForm.MatchString(v) {
		return Invalid(field, "%q is not a category; send lower-case letters, digits, \"_\" or \"-\", such as %q", clip(v), "news")
	}
	return nil
}

// CheckDate accepts only dates that exist, as YYYY-MM-DD.
func CheckDate(field, v string) error {
	if _, err := time.Parse(time.DateOnly, v); err != nil {
		return Invalid(field, "%q is not a date; send YYYY-MM-DD, such as %q", clip(v), "2026-01-28")
	}
	return nil
}

// Validate reports the first part that is malformed, as field prefix+part.
func (p Partition) Validate(prefix string) error {
	if err := CheckCountry(prefix+"country", p.Country); err != nil {
		return err
	}
	if err := CheckCategory(prefix+"category", p.Category); err != nil {
		return err
	}
	return CheckDate(prefix+"date", p.Date)
}

// clip keeps an error message short when the offending value is huge.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
