package info

import "strings"

// Keywords, separated by commas; see newKeyword for the notation. Strong ones suffice for a category, weak ones
// only in a title or together with others.

const (
	environmentStrong = `^환경부, 분리배출, 재활용, 쓰레기, 폐기물, ^기후, 온실가스, 온난화, 미세먼지, 미세플라스틱, 플라스틱, 생물다양성, 멸종위기, 대기오염,
		수질오염, 해양오염, 토양오염, 일회용, 다회용, 업사이클, 제로웨이스트, 그린워싱, 매립지, 직매립, 소각장, 녹조, 친환경, 자원순환, 탄소배출, 생태계교란,
		environment, environmental*, recycl*, waste, wastes, wastewater, landfill*, climate, pollut*, greenhouse, biodiversity, deforestation,
		microplastic*, global warming, endangered species, plastic waste`
	environmentWeak = `^환경, ^탄소, ^생태, 오염, 산불, 습지, carbon, emission*, ecosystem*, conservation, plastic, plastics, sustainab*, wildlife, wildfire*,
		drought*, net zero`

	energyStrong = `에너지, 신재생, 태양광, 태양전지, 풍력, 전기차, 배터리, 이차전지, 연료전지, 전고체, ^수소, ^원전, 원자력, ^전력, 발전소, 송전, 전기요금,
		한국전력, ^한전, 석탄, energy, solar, renewable*, wind power, wind farm*, wind turbine*, offshore wind, electric vehicle*, electric car*, ev, evs,
		battery, batteries, hydrogen, power plant*, power grid*, electricity, photovoltaic*, perovskite*, geothermal, hydropower, lng, ess, smr, rec 가격`
	energyWeak = `탄소중립, ^석유, ^유가, 정유, 가스공사, nuclear, coal, oil, fossil fuel*, utilities, megawatt*, gigawatt*, ` +
		`charging station*`

	aiStrong = `인공지능, 머신러닝, 딥러닝, 챗봇, 생성형, 언어모델, 자율주행, ai, gpt, gpts, chatgpt, openai, llm, llms, artificial intelligence,
		machine learning, deep learning, chatbot*, language model*, neural network*, generative model*`
	aiWeak = `자동화, 로봇, 데이터센터, 데이터 센터, 알고리즘, automation, robot*, data center*, data centre*, algorithm*, ml`
)

// misleading words contain keywords but mean something else.
var misleading = read("", 0,
	`방탄소년단*, 수소문*, 유가족*, 유가증권*, 전력질주*, 전력투구*, 전력분석*, 원전히*, 한전하*, business environment*, work environment*,
	working environment*, learning environment*, rate environment*, economic environment*, political climate*, business climate*, economic climate*, solar system*,
	solar eclipse*, energy drink*, assault and battery, carbon copy, carbon fiber, carbon fibre, waste of time, nuclear family`)

// birdFlu are words beside which "AI" means avian influenza.
var birdFlu = read("", 0, `조류인플루엔자, 조류 인플루엔자, 고병원성, avian influenza, avian flu, bird flu`)

var keywords = func() (list []keyword) {
	for _, of := range []struct {
		category     Category
		strong, weak string
	}{
		{Environment, environmentStrong, environmentWeak},
		{Energy, energyStrong, energyWeak},
		{AI, aiStrong, aiWeak},
	} {
		list = append(list, read(of.category, 2, of.strong)...)
		list = append(list, read(of.category, 1, of.weak)...)
	}
	return list
}()

func read(c Category, points int, list string) (read []keyword) {
	for entry := range strings.SplitSeq(list, ",") {
		k := newKeyword(strings.TrimSpace(entry))
		k.category, k.points = c, points
		read = append(read, k)
	}
	return read
}
