package markup

import (
	"slices"
	"strings"
	"time"
)

// zoneRules lists the rules of time zones, one a line, as POSIX writes them (TZ), with the names of their zones.
// Workers have no zone database, and articles need the rules of today, not those of all of history.
const zoneRules = `UTC0 UTC GMT Etc/UTC Africa/Abidjan Africa/Accra Africa/Dakar Atlantic/Reykjavik
KST-9 Asia/Seoul Asia/Pyongyang
JST-9 Asia/Tokyo
CST-8 Asia/Shanghai Asia/Taipei Asia/Macau
HKT-8 Asia/Hong_Kong
PST-8 Asia/Manila
AWST-8 Australia/Perth
WIB-7 Asia/Jakarta
IST-5:30 Asia/Kolkata
PKT-5 Asia/Karachi
MSK-3 Europe/Moscow
EAT-3 Africa/Addis_Ababa Africa/Dar_es_Salaam Africa/Kampala Africa/Nairobi
SAST-2 Africa/Johannesburg
CAT-2 Africa/Harare Africa/Lusaka Africa/Kigali
WAT-1 Africa/Lagos
CET-1 Africa/Algiers Africa/Tunis
EST5 America/Jamaica America/Panama
CST6 America/Mexico_City America/Costa_Rica America/Guatemala America/El_Salvador America/Tegucigalpa
AST4 America/Puerto_Rico America/Santo_Domingo
AEST-10 Australia/Brisbane
<+08>-8 Asia/Singapore Asia/Kuala_Lumpur Asia/Brunei Asia/Ulaanbaatar
<+07>-7 Asia/Bangkok Asia/Ho_Chi_Minh Asia/Phnom_Penh Asia/Vientiane
<+0630>-6:30 Asia/Yangon
<+06>-6 Asia/Dhaka Asia/Thimphu Asia/Bishkek
<+0545>-5:45 Asia/Kathmandu
<+0530>-5:30 Asia/Colombo
<+05>-5 Asia/Tashkent Asia/Dushanbe Asia/Ashgabat Indian/Maldives
<+0430>-4:30 Asia/Kabul
<+04>-4 Asia/Dubai Asia/Muscat Asia/Baku Asia/Tbilisi Asia/Yerevan Indian/Mauritius
<+0330>-3:30 Asia/Tehran
<+03>-3 Europe/Istanbul Europe/Minsk Asia/Riyadh Asia/Qatar Asia/Kuwait Asia/Bahrain Asia/Baghdad Asia/Amman
<-03>3 America/Sao_Paulo America/Argentina/Buenos_Aires America/Montevideo
<-04>4 America/La_Paz America/Caracas
<-05>5 America/Bogota America/Lima America/Guayaquil
GMT0BST,M3.5.0/1,M10.5.0 Europe/London
IST-1GMT0,M10.5.0,M3.5.0/1 Europe/Dublin
WET0WEST,M3.5.0/1,M10.5.0 Europe/Lisbon
EET-2EEST,M3.5.0/3,M10.5.0/4 Europe/Athens Europe/Helsinki Europe/Bucharest Europe/Sofia Europe/Kyiv
EET-2EEST,M3.5.0/3,M10.5.0/4 Europe/Tallinn Europe/Riga Europe/Vilnius Asia/Nicosia
EET-2EEST,M4.5.5/0,M10.5.4/24 Africa/Cairo
EET-2EEST,M3.5.0/0,M10.5.0/0 Asia/Beirut
IST-2IDT,M3.4.4/26,M10.5.0 Asia/Jerusalem
CET-1CEST,M3.5.0,M10.5.0/3 Europe/Amsterdam Europe/Andorra Europe/Belgrade Europe/Berlin Europe/Bratislava
CET-1CEST,M3.5.0,M10.5.0/3 Europe/Brussels Europe/Budapest Europe/Copenhagen Europe/Ljubljana
CET-1CEST,M3.5.0,M10.5.0/3 Europe/Luxembourg Europe/Madrid Europe/Malta Europe/Monaco Europe/Oslo Europe/Paris
CET-1CEST,M3.5.0,M10.5.0/3 Europe/Podgorica Europe/Prague Europe/Rome Europe/San_Marino Europe/Sarajevo
CET-1CEST,M3.5.0,M10.5.0/3 Europe/Skopje Europe/Stockholm Europe/Tirane Europe/Vaduz Europe/Vatican
CET-1CEST,M3.5.0,M10.5.0/3 Europe/Vienna Europe/Warsaw Europe/Zagreb Europe/Zurich
EST5EDT,M3.2.0,M11.1.0 America/New_York America/Toronto America/Detroit
CST6CDT,M3.2.0,M11.1.0 America/Chicago America/Winnipeg
MST7MDT,M3.2.0,M11.1.0 America/Denver America/Edmonton
MST7 America/Phoenix
PST8PDT,M3.2.0,M11.1.0 America/Los_Angeles
AST4ADT,M3.2.0,M11.1.0 America/Halifax
AEST-10AEDT,M10.1.0,M4.1.0/3 Australia/Sydney Australia/Melbourne Australia/Hobart
ACST-9:30ACDT,M10.1.0,M4.1.0/3 Australia/Adelaide
NZST-12NZDT,M9.5.0,M4.1.0/3 Pacific/Auckland`

// countries maps the top-level domain of each country with one time zone to that zone. Domains that are sold as words,
// such as .ai and .tv, are left out.
const countries = `ad Europe/Andorra ae Asia/Dubai al Europe/Tirane ar America/Argentina/Buenos_Aires at Europe/Vienna
az Asia/Baku ba Europe/Sarajevo bd Asia/Dhaka be Europe/Brussels bg Europe/Sofia bh Asia/Bahrain bn Asia/Brunei
bo America/La_Paz bt Asia/Thimphu by Europe/Minsk ch Europe/Zurich cn Asia/Shanghai cr America/Costa_Rica
cy Asia/Nicosia cz Europe/Prague de Europe/Berlin dk Europe/Copenhagen do America/Santo_Domingo dz Africa/Algiers
ee Europe/Tallinn eg Africa/Cairo et Africa/Addis_Ababa fi Europe/Helsinki fr Europe/Paris ge Asia/Tbilisi
gh Africa/Accra gr Europe/Athens gt America/Guatemala hk Asia/Hong_Kong hn America/Tegucigalpa hr Europe/Zagreb
hu Europe/Budapest ie Europe/Dublin il Asia/Jerusalem in Asia/Kolkata iq Asia/Baghdad ir Asia/Tehran
is Atlantic/Reykjavik it Europe/Rome jm America/Jamaica jo Asia/Amman jp Asia/Tokyo ke Africa/Nairobi
kg Asia/Bishkek kh Asia/Phnom_Penh kp Asia/Pyongyang kr Asia/Seoul kw Asia/Kuwait lb Asia/Beirut lk Asia/Colombo
lt Europe/Vilnius lu Europe/Luxembourg lv Europe/Riga mc Europe/Monaco mk Europe/Skopje mm Asia/Yangon mo Asia/Macau
mt Europe/Malta mu Indian/Mauritius mv Indian/Maldives my Asia/Kuala_Lumpur ng Africa/Lagos nl Europe/Amsterdam
no Europe/Oslo np Asia/Kathmandu nz Pacific/Auckland om Asia/Muscat pa America/Panama pe America/Lima
ph Asia/Manila pk Asia/Karachi pl Europe/Warsaw qa Asia/Qatar ro Europe/Bucharest rs Europe/Belgrade rw Africa/Kigali
sa Asia/Riyadh se Europe/Stockholm sg Asia/Singapore si Europe/Ljubljana sk Europe/Bratislava sn Africa/Dakar
sv America/El_Salvador th Asia/Bangkok tn Africa/Tunis tr Europe/Istanbul tw Asia/Taipei tz Africa/Dar_es_Salaam
ua Europe/Kyiv ug Africa/Kampala uk Europe/London uy America/Montevideo uz Asia/Tashkent va Europe/Vatican
vn Asia/Ho_Chi_Minh za Africa/Johannesburg zm Africa/Lusaka zw Africa/Harare 한국 Asia/Seoul xn--3e0b707e Asia/Seoul`

// Zone returns a time zone by its name in the zone database. ok is false if it is not known here.
func Zone(name string) (zone *time.Location, ok bool) {
	for line := range strings.Lines(zoneRules) {
		if rule := strings.Fields(line); slices.Contains(rule[1:], name) {
			zone, err := time.LoadLocationFromTZData(name, zoneData(rule[0]))
			return zone, err == nil
		}
	}
	return nil, false
}

// zoneData returns a zone file (RFC 9636) without transitions, whose footer has the rule for all of time.
func zoneData(rule string) []byte {
	header := func(types, characters byte) string {
		return "TZif2" + strings.Repeat("\x00", 15+4*4) + "\x00\x00\x00" + string(types) +
			"\x00\x00\x00" + string(characters)
	}
	return []byte(header(0, 0) + header(1, 4) + "\x00\x00\x00\x00\x00\x00" + "LMT\x00" + "\n" + rule + "\n")
}

// CountryZone returns the time zone of the country of a host's top-level domain, or nil if the domain is of no country
// or the country has several.
func CountryZone(host string) *time.Location {
	host = strings.TrimSuffix(host, ".")
	country := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	words := strings.Fields(countries)
	for i := 0; i+1 < len(words); i += 2 {
		if words[i] == country {
			zone, _ := Zone(words[i+1])
			return zone
		}
	}
	return nil
}
