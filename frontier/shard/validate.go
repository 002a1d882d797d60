package shard

import (
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
)

func validateAcquire(r *frontier.AcquireRequest) error {
	if err := contract.CheckDomain("domain", r.Domain); err != nil {
		return err
	}
	if r.Owner == "" || len(r.Owner) > frontier.MaxOwner {
		return contract.Invalid("owner", "an owner has 1 to %d bytes", frontier.MaxOwner)
	}
	if err := frontier.CheckRange("hosts", len(r.Hosts), 0, frontier.MaxAcquire); err != nil {
		return err
	}
	for _, host := range r.Hosts {
		if !link.ValidHost(host) || !link.Within(host, r.Domain) {
			return contract.Invalid("hosts", "%.80q is not a host of %s", host, r.Domain)
		}
	}
	return frontier.CheckRange("seconds", r.Seconds, 1, frontier.MaxOwnership)
}

func validatePut(r *frontier.Put) error {
	if err := contract.CheckDomain("domain", r.Domain); err != nil {
		return err
	}
	if r.MirrorOf != "" {
		if err := contract.CheckDomain("mirror_of", r.MirrorOf); err != nil {
			return err
		}
	}
	if err := frontier.CheckRange("visits", len(r.Visits), 0, frontier.MaxAcquire); err != nil {
		return err
	}
	if r.Stored != nil {
		if err := frontier.CheckRange("stored", max(len(r.Stored.From), len(r.Stored.Next)), 0,
			frontier.MaxPosition); err != nil {
			return err
		}
	}
	return r.Partition.Validate("partition_info.")
}
