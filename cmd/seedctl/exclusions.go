package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

var exclusionKinds = []string{contract.ExcludeDomain, contract.ExcludeHost, contract.ExcludeURL}

func exclusionsListCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:     "list",
		Short:   "what operators ruled out",
		Args:    noArgs,
		Long:    `With --json each line is an exclusion {"kind", "value", "reason", "created_at", "created_by"}.`,
		Example: `  seedctl exclusions list --kind domain`,
	})
	var kind string
	r.choice(&kind, "kind", "`KIND`: domain, host or url", exclusionKinds...)
	limit := r.limitFlag()
	return r.command(func(ctx context.Context, _ []string) error {
		return list(ctx, r, []string{"exclusions"}, queryOf("kind", kind), *limit,
			func(p *contract.ExclusionPage) ([]contract.Exclusion, *string) { return p.Exclusions, p.Cursor },
			"KIND\tVALUE\tSINCE\tBY\tREASON", func(e *contract.Exclusion) string {
				return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", plain(e.Kind), plain(e.Value), moment(&e.CreatedAt),
					plain(e.CreatedBy),
					or(e.Reason))
			})
	})
}

func exclusionsAddCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:               "add [flags] KIND VALUE…",
		ValidArgsFunction: kindFirst,
		Short:             "rule out a domain, a host or URLs",
		Long: `What is ruled out is never fetched, from now on. KIND is domain (a registrable domain with all its
hosts), host (one host) or url (URLs; * stands for any characters). What is there already stays; a
reason replaces the one before. With --json each line is an exclusion.`,
		Example: `  seedctl exclusions add domain shop.example --reason "asked us not to"
  seedctl exclusions add url 'https://news.example/archive/*'`,
	})
	reason := reasonFlag(r)
	return r.command(func(ctx context.Context, args []string) error {
		return r.changeExclusions(ctx, "PUT", "excluded", args, reasonBody(*reason))
	})
}

func exclusionsRemoveCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:               "remove [flags] KIND VALUE…",
		ValidArgsFunction: kindFirst,
		Short:             "take an exclusion back",
		Long: `KIND and VALUE are as "seedctl exclusions list" shows them. With --json each line is an exclusion
that was removed.`,
		Example: `  seedctl exclusions remove domain shop.example`,
	})
	return r.command(func(ctx context.Context, args []string) error {
		return r.changeExclusions(ctx, "DELETE", "removed", args, nil)
	})
}

// kindFirst completes KIND.
func kindFirst(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return exclusionKinds, cobra.ShellCompDirectiveNoFileComp
}

// changeExclusions works on every value, also when the engine refuses one.
func (r *remote) changeExclusions(ctx context.Context, method, done string, args []string, body any) error {
	if len(args) < 2 {
		return usageError("name a KIND (domain, host or url) and a VALUE")
	}
	var result error
	for _, value := range args[1:] {
		var e contract.Exclusion
		err := r.Call(ctx, client.Request{Method: method, Path: []string{"exclusions", args[0], value}, Body: body}, &e)
		var answer *client.Error
		if errors.As(err, &answer) && exitCode(answer) == exitFailed {
			r.complain("%s: %v", value, err)
			result = errReported
			continue
		}
		if err == nil {
			err = r.show(e, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s %s %s\n", done, plain(e.Kind), plain(e.Value))
				return err
			})
		}
		if err != nil {
			return err
		}
	}
	return result
}

func reasonFlag(r *remote) *string {
	return r.flags.String("reason", "", "`TEXT` for those who come after")
}

// reasonBody is the body that gives a reason, or none.
func reasonBody(reason string) any {
	if reason == "" {
		return nil
	}
	return struct {
		Reason string `json:"reason"`
	}{reason}
}
