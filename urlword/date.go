package urlword

// Between reports whether text is a number of up to nine digits in a range.
func Between[Text string | []byte](text Text, low, high int) bool {
	if len(text) == 0 || len(text) > 9 {
		return false
	}
	n := 0
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
		n = n*10 + int(text[i]-'0')
	}
	return low <= n && n <= high
}

// IsYear reports whether text is a year that a URL can name; other numbers of four digits are not years.
func IsYear[Text string | []byte](text Text) bool { return Between(text, 1985, 2039) }

// IsMonth reports whether text is the number of a month.
func IsMonth[Text string | []byte](text Text) bool { return Between(text, 1, 12) }

// IsDay reports whether text is the number of a day that some month has.
func IsDay[Text string | []byte](text Text) bool { return Between(text, 1, 31) }

// IsDate reports whether digits are a day or a month of a year, such as 20230915, 15092023 and 202309.
func IsDate[Text string | []byte](digits Text) bool {
	switch len(digits) {
	case 8:
		return IsYear(digits[:4]) && IsMonth(digits[4:6]) && IsDay(digits[6:]) ||
			IsYear(digits[4:]) && IsMonth(digits[2:4]) && IsDay(digits[:2])
	case 6:
		return IsYear(digits[:4]) && IsMonth(digits[4:])
	}
	return false
}
