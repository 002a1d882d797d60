package contract

// WhyCode is the code of the reason why a URL is in its state, for programs and for people who read another language;
// FrontierURL.Why is the same in words, with what belongs to it.
type WhyCode string

// Reasons why a URL is in its state.
const (
	WhyExcluded         WhyCode = "excluded"          // operators excluded the URL, its host, its domain, or a pattern
	WhyLeased           WhyCode = "leased"            // a scraper has it
	WhyUnnamed          WhyCode = "unnamed"           // nobody named it, or its domain had too many pages
	WhyNoDomain         WhyCode = "no_domain"         // its domain was never collected
	WhyNoHost           WhyCode = "no_host"           // the frontier has its domain, but not its host
	WhyMirror           WhyCode = "mirror"            // its domain shows the pages of another
	WhyBlocked          WhyCode = "blocked"           // operators blocked its host
	WhyRefreshing       WhyCode = "refreshing"        // an entry point that the engine refreshes next
	WhyEntryPoint       WhyCode = "entry_point"       // an entry point before its next fetch
	WhyUnresolved       WhyCode = "unresolved"        // the name of its host did not resolve
	WhyRetried          WhyCode = "retried"           // it failed or was refused, and is tried again
	WhyLater            WhyCode = "later"             // its turn comes later
	WhyHostBroken       WhyCode = "host_broken"       // its host failed in a row
	WhyHostRefuses      WhyCode = "host_refuses"      // its host refused pages in a row
	WhyHostResting      WhyCode = "host_resting"      // a delay, a Retry-After, or an unreadable robots.txt
	WhyHostLeased       WhyCode = "host_leased"       // a scraper has other pages of its host
	WhyDomainCollected  WhyCode = "domain_collected"  // a collection has its domain, or waits for it
	WhyHostsLeased      WhyCode = "hosts_leased"      // as many hosts of its domain as may be are leased
	WhyDue              WhyCode = "due"               // it is leased when its host's turn comes
	WhyFetchedBlocked   WhyCode = "fetched_blocked"   // it was fetched, and operators blocked its host
	WhyFetchedAgain     WhyCode = "fetched_again"     // it was fetched, and is on schedule
	WhyFetched          WhyCode = "fetched"           // it was fetched, and waits for a newer date
	WhyDisallowed       WhyCode = "disallowed"        // a scraper read in robots.txt that it is disallowed
	WhyGone             WhyCode = "gone"              // it does not exist, was refused, or was taken out
	WhyDisplaced        WhyCode = "displaced"         // better pages of its domain wait
	WhyForbidden        WhyCode = "forbidden"         // robots.txt forbids it
	WhyRobotsUnreadable WhyCode = "robots_unreadable" // the last collection could not read robots.txt
	WhyPaused           WhyCode = "paused"            // operators paused the pipeline
	WhyFound            WhyCode = "found"             // the last collection found it, beside better pages
	WhyCollecting       WhyCode = "collecting"        // its domain waits to be collected, or is retried
	WhyNotCollected     WhyCode = "not_collected"     // the last collection of its domain failed
)

// WhyCodes are all of them.
var WhyCodes = []WhyCode{
	WhyExcluded, WhyLeased, WhyUnnamed, WhyNoDomain, WhyNoHost, WhyMirror, WhyBlocked, WhyRefreshing,
	WhyEntryPoint, WhyUnresolved, WhyRetried, WhyLater, WhyHostBroken, WhyHostRefuses, WhyHostResting,
	WhyHostLeased, WhyDomainCollected, WhyHostsLeased, WhyDue, WhyFetchedBlocked, WhyFetchedAgain, WhyFetched,
	WhyDisallowed, WhyGone, WhyDisplaced, WhyForbidden, WhyRobotsUnreadable, WhyPaused, WhyFound,
	WhyCollecting, WhyNotCollected,
}
