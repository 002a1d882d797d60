package contract

import (
	"errors"
	"time"
)

// Partition names one day of one category of one country: the unit in which raw files arrive and
// contracts are written (key segments country=, category=, date=).
type Partition struct {
	Country  string `json:"country"`  // ISO 3166-1 alpha-2, lower case
	Category string `json:"category"` // lower case letters, digits, _ and -
	Date     string `json:"date"`     // YYYY-MM-DD
}

// CheckCountry, CheckCategory and CheckDate validate one part of a partition. field is its name in the caller's
// input.
func CheckCountry(field, v string) error {
	if !isCountry(v) {
		return Invalid(field, "%q is not a country; use two lower-case letters such as %q", clip(v), "sg")
	}
	return nil
}

// CheckCategory accepts 1 to 64 lower-case letters, digits, "_" and "-".
func CheckCategory(field, v string) error {
	if !isCategory(v) {
		return Invalid(field, "%q is not a category; use lower-case letters, digits, \"_\" or \"-\", such as %q",
			clip(v), "news")
	}
	return nil
}

// CheckDate accepts only dates that exist, as YYYY-MM-DD.
func CheckDate(field, v string) error {
	if IsDate(v) {
		return nil
	}
	_, err := time.Parse(time.DateOnly, v)
	if e := (*time.ParseError)(nil); errors.As(err, &e) && e.Message != "" { // such as ": day out of range"
		return Invalid(field, "%q is not a date%s", clip(v), e.Message)
	}
	return Invalid(field, "%q is not a date; use YYYY-MM-DD, such as %q", clip(v), "2026-01-28")
}

// Validate returns an error about the first malformed part, named prefix+part.
func (p Partition) Validate(prefix string) error {
	if err := CheckCountry(prefix+"country", p.Country); err != nil {
		return err
	}
	if err := CheckCategory(prefix+"category", p.Category); err != nil {
		return err
	}
	return CheckDate(prefix+"date", p.Date)
}

// clip shortens a value for an error message.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

func isCountry(s string) bool {
	return len(s) == 2 && isLower(s[0]) && isLower(s[1])
}

func isCategory(s string) bool {
	if s == "" || len(s) > 64 || s[0] == '_' || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isLower(c) && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// IsDate reports whether time.Parse accepts s as a date, ten times as fast: every key of a listing has one.
func IsDate(s string) bool {
	if len(s) != len(time.DateOnly) {
		return false
	}
	for i := range len(s) {
		if dash := time.DateOnly[i] == '-'; dash != (s[i] == '-') || !dash && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	number := func(digits string) (n int) {
		for _, c := range digits {
			n = 10*n + int(c-'0')
		}
		return n
	}
	month, day := number(s[5:7]), number(s[8:])
	if month < 1 || month > 12 || day < 1 {
		return false
	}
	return day <= 28 || day <= time.Date(number(s[:4]), time.Month(month+1), 0, 0, 0, 0, 0, time.UTC).Day()
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
