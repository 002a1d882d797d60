// Package revisit decides when a page that was fetched should be fetched again, so that a fixed number of fetches a
// day keeps as much worth as possible up to date.
//
// A page is worth a look when Value reaches the shard's Threshold. The value weighs the page's priority, the number
// of changes expected since the last fetch and the rate at which it changes: a page that surely changed is worth more
// than one that hardly ever does, but a page that changes every minute is worth little, since its copy is outdated
// again at once. The rate comes from the prior of the page's type, its age, and its own History of two bytes. A newer
// lastmod counts as far as the host's Trust goes. The Threshold moves until demand meets the budget.
//
// The value of a look is that of an optimal policy under a budget with exponential inter-change times; Cho and
// Garcia-Molina, "Effective page refresh policies for web crawlers" (2003), and Azar et al., "Tractable near-optimal
// policies for crawling" (2018), derive it. sim_test.go compares it with the rules of other crawlers.
package revisit
