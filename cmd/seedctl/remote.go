package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

// target is a service that commands talk to, and what their help says of it.
type target struct {
	client.Service
	local string // its address in a local run
	page  int    // the maximum for one page, unless it is pageSize
}

var engineTarget = target{Service: client.Engine, local: "http://localhost:8787"}

// limits are those of every request; tests lower them.
var limits = client.DefaultLimits

// help ends the help of every command that talks to a service.
func (t target) help() string {
	token := "its token is " + t.Token + " or what --token-file holds."
	if t.Token == "" {
		token = "it needs no token."
	}
	return fmt.Sprintf(`
The %[1]s is --url or %[2]s, else %[3]s;
%[4]s A request that got lost, or met
%[5]s %[1]s in trouble, is repeated up to four times where that is harmless.
Exit codes: 0 all went well, 1 refused or something failed, 2 wrong usage, 3 the %[1]s could
not be reached or is in trouble, 4 the token is refused, 130 interrupted.
`, t.Noun, t.Address, t.local, token, t.Article)
}

// remote is the common part of commands that talk to a service.
type remote struct {
	*client.Client
	cmd         *cobra.Command
	target      target
	flags       *pflag.FlagSet
	in          io.Reader
	out, errOut io.Writer
	asJSON      bool
	address     string
	tokenFile   string
	progress    *progress
	selected    func() contract.Partition // by flags; nil where there are none
}

func newRemote(cmd *cobra.Command) *remote { return newRemoteOf(engineTarget, cmd) }

// newRemoteOf adds the common flags and help of a service's commands to cmd.
func newRemoteOf(t target, cmd *cobra.Command) *remote {
	r := &remote{cmd: cmd, target: t, flags: cmd.Flags()}
	cmd.Long += "\n" + t.help()
	r.flags.StringVar(&r.address, "url", "", "`URL` of the "+t.Noun)
	if t.Token != "" {
		r.flags.StringVar(&r.tokenFile, "token-file", "", "`FILE` that holds the API token")
		completeFlag(cmd, "token-file", files)
	}
	r.flags.BoolVar(&r.asJSON, "json", false, "print JSON, one object a line")
	return r
}

// command returns the finished command. It runs action until Ctrl-C.
func (r *remote) command(action func(ctx context.Context, args []string) error) *cobra.Command {
	r.cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.in, r.out, r.errOut = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
		r.progress = newProgress(r.errOut)
		defer r.progress.clear()
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
		if err := r.checkSelection(); err != nil {
			return err
		}
		if err := r.connect(); err != nil {
			return err
		}
		return action(ctx, args)
	}
	return r.cmd
}

// exitCode returns the exit code for an error other than a usageError.
func exitCode(err error) int {
	var answer *client.Error
	var lost *client.Unreachable
	switch {
	case errors.As(err, &lost):
		return exitUnreachable
	case !errors.As(err, &answer):
		return exitFailed
	case answer.Status == 401, answer.Status == 403, answer.Code == "token_not_configured":
		return exitDenied
	case answer.Code == "webhook_refused": // the engine answered, the receiver did not
		return exitFailed
	case answer.Status >= 500, answer.Status == 429:
		return exitUnreachable
	}
	return exitFailed
}

func (r *remote) connect() error {
	token, from := "", r.target.Token
	if from != "" {
		token = os.Getenv(from)
	}
	if r.tokenFile != "" {
		from = "the file " + r.tokenFile
		text, err := os.ReadFile(r.tokenFile)
		if err != nil {
			return usageError("--token-file: " + inWords(err))
		}
		if token = strings.TrimSpace(string(text)); token == "" {
			return usageError("--token-file: " + r.tokenFile + " is empty")
		}
	}
	c, err := client.New(r.target.Service, cmp.Or(r.address, os.Getenv(r.target.Address), r.target.local),
		strings.TrimSpace(token), from)
	if err != nil {
		return usageError(err.Error())
	}
	c.Limits = limits
	c.OnRetry = func(wait time.Duration, err error) { r.complain("%s; trying again in %v", inWords(err), wait) }
	r.Client = c
	return nil
}

// complain writes a line to standard error, above the progress that is shown.
func (r *remote) complain(format string, args ...any) {
	r.progress.clear()
	complain(r.cmd, format, args...)
}

// show writes an answer: v for machines, else what text gives.
func (r *remote) show(v any, text func(w io.Writer) error) error {
	if r.asJSON {
		return writeJSON(r.out, v)
	}
	return text(r.out)
}

// partitionFlags adds the flags that select partitions.
func (r *remote) partitionFlags(p *contract.Partition) {
	r.selected = func() contract.Partition { return *p }
	r.flags.StringVar(&p.Country, "country", "", "two lower-case `LETTERS`, such as sg")
	r.flags.StringVar(&p.Category, "category", "", "`NAME` of a category, such as news")
	r.flags.StringVar(&p.Date, "date", "", "`DAY` as YYYY-MM-DD")
}

// choice adds a flag that takes one of some values.
func (r *remote) choice(p *string, name, usage string, values ...string) {
	r.flags.Func(name, usage, func(v string) error {
		if v == "" || slices.Contains(values, v) {
			*p = v
			return nil
		}
		if best := nearest(v, values); best != "" {
			return fmt.Errorf("did you mean %s?", best)
		}
		last := len(values) - 1
		return fmt.Errorf("send %s or %s", strings.Join(values[:last], ", "), values[last])
	})
	completeFlag(r.cmd, name, oneOf(values...))
}

// checkSelection refuses flags that select partitions and can match none, such as a day that does not exist.
func (r *remote) checkSelection() error {
	if r.selected == nil {
		return nil
	}
	p := r.selected()
	if err := (contract.Filter{Country: p.Country, Category: p.Category, Date: p.Date}).Validate("--"); err != nil {
		return usageError(err.Error())
	}
	return nil
}

// wholePartition refuses the flags of a command that is about one partition where one of them is missing.
func wholePartition(p contract.Partition) error {
	if p.Country == "" || p.Category == "" || p.Date == "" {
		return usageError("name a whole partition with --country, --category and --date")
	}
	return nil
}

// hostOf returns the host of a URL, and anything else as it is: people paste what their browser shows.
func hostOf(name string) string {
	if u, err := url.Parse(name); err == nil && u.Host != "" {
		return u.Hostname()
	}
	return name
}

// sleep waits unless ctx ends first; then it returns false.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
