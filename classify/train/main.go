// Command train makes the classifier's model from the words of the lexicon and labelled URLs, and the tables of
// docs/classification.md and of NOTES.md that show its quality. "go generate ./classify" runs it in the directory of
// package classify.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"strings"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/internal/linear"
)

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", ".", "directory of package classify")
	check := flag.Bool("check", false, "cross-validate and print the figures; write nothing")
	errors := flag.String("errors", "", "with -check: folds whose wrong predictions are printed, such as 012")
	withCurve := flag.Bool("curve", true,
		"measure the learning curve, which trains twenty models more; without it the page keeps that of the last time")
	set := defaults
	flag.Float64Var(&set.tied, "tied", set.tied, "penalty of tied features")
	flag.Float64Var(&set.dense, "dense", set.dense, "penalty of roles at places")
	flag.Float64Var(&set.structure, "structure", set.structure, "penalty of structure")
	flag.Float64Var(&set.hashed, "hashed", set.hashed, "penalty of hashed features")
	flag.Float64Var(&set.smooth, "smooth", set.smooth, "share of the target for secondary types")
	flag.Float64Var(&set.written, "written", set.written, "weight of written examples")
	flag.Float64Var(&set.pattern, "pattern", set.pattern, "weight of URLs made from patterns")
	flag.Float64Var(&set.text, "text", set.text, "weight of examples with their words beside the URL")
	flag.Float64Var(&set.inferred, "inferred", set.inferred, "weight of texts whose type an earlier model inferred")
	flag.Float64Var(&set.pair, "pair", set.pair, "weight of URLs with texts")
	flag.Float64Var(&set.bare, "bare", set.bare, "weight of these URLs alone")
	flag.Float64Var(&set.lone, "lone", set.lone, "weight of URLs that were labelled without a text")
	flag.IntVar(&set.least, "least", set.least, "examples that a hashed feature must occur in")
	flag.Float64Var(&set.rate, "rate", set.rate, "rate of training")
	flag.Float64Var(&set.dropout, "dropout", set.dropout, "share of an example's features that a step leaves out")
	flag.IntVar(&set.rounds, "rounds", set.rounds, "rounds of training")
	pageSet := pageDefaults
	flag.IntVar(&pageSet.rounds, "page-rounds", pageSet.rounds, "rounds of training on the evidence of pages")
	flag.Float64Var(&pageSet.rate, "page-rate", pageSet.rate, "rate of it")
	flag.Float64Var(&pageSet.penalty, "page-penalty", pageSet.penalty, "penalty of its weights")
	flag.Float64Var(&pageSet.dropout, "page-dropout", pageSet.dropout, "share of features that a step of it leaves out")
	flag.IntVar(&pageSet.fits, "page-fits", pageSet.fits, "fits of it whose mean is taken")
	flag.IntVar(&pageSet.least, "page-least", pageSet.least, "pages that a feature must occur in")
	flag.Float64Var(&pageSet.balance, "page-balance", pageSet.balance, "how much more pages of rare types count")
	flag.Float64Var(&pageSet.written, "page-written", pageSet.written, "weight of written pages")
	pagesOnly := flag.Bool("pages", false, "measure the evidence of pages by the stored model; write nothing")
	flag.Parse()
	if *pagesOnly {
		if err := measurePages(os.DirFS(*dir), pageSet); err != nil {
			log.Fatal(err)
		}
		return
	}
	examples, err := readExamples(os.DirFS(*dir))
	if err != nil {
		log.Fatal(err)
	}
	predictions := crossValidate(examples, set)
	if *check {
		printFigures(os.Stdout, predictions, *errors)
		return
	}
	data := linear.Quantise(fit(examples, set), calibrate(predictions))
	pages, pageTable, err := trainPages(os.DirFS(*dir), data, pageSet)
	if err != nil {
		log.Fatal(err)
	}
	model, err := pack(os.DirFS(*dir), data, pages)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*dir+modelFile, model, 0o644); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*dir+sumFile, []byte(classify.ModelSum(model)+"\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	held, err := readHeldOut(os.DirFS(*dir))
	if err != nil {
		log.Fatal(err)
	}
	predictedHeld := predict(data, held)
	notes := tables(predictions, predictedHeld)
	if *withCurve {
		notes["curve"] = curveTable(learningCurve(examples, predictions, set))
	}
	for name, parts := range map[string]map[string]string{notesFile: notes,
		guideFile: guideTables(predictedHeld, pageTable)} {
		page, err := os.ReadFile(*dir + name)
		if err != nil {
			log.Fatal(err)
		}
		if page, err = fillIn(page, parts); err != nil {
			log.Fatal(name, ": ", err)
		}
		if err := os.WriteFile(*dir+name, page, 0o644); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("%d examples, %d bytes of weights\n", len(examples), len(data))
}

// measurePages prints what evidence adds to what the stored model says without it.
func measurePages(dir fs.FS, set pageSettings) error {
	file, err := fs.ReadFile(dir, strings.TrimPrefix(modelFile, "/"))
	if err != nil {
		return err
	}
	weights, err := classify.ModelWeights(file)
	if err != nil {
		return err
	}
	_, table, err := trainPages(dir, weights, set)
	fmt.Print(table)
	return err
}

// pack returns the file of a model with the words of the lexicon.
func pack(dir fs.FS, weights, pages []byte) ([]byte, error) {
	general, hosts, err := lexiconTexts(dir)
	if err != nil {
		return nil, err
	}
	return classify.PackModel(general, hosts, weights, pages), nil
}

// Files that training writes, relative to the directory of package classify.
const (
	modelFile = "/embedded/classifier.model"
	sumFile   = "/model.sum"
	guideFile = "/../docs/classification.md" // for users
	notesFile = "/train/NOTES.md"            // for whoever trains the model
)
