// The part of README that the benchmarks write, in Korean for README.ko.md.

/** The rows by their names; one without a translation keeps its own. */
const names = {
  "a warm `GET /health` over HTTP": "워밍된 `GET /health`(HTTP)",
  "the same beside the stock entry of syumai/workers": "syumai/workers의 기본 엔트리와 비교한 같은 요청",
  "the first request of a cold isolate, more than the peer's: compiling, starting, answering":
    "콜드 아이솔레이트의 첫 요청, 비교 대상보다 더 걸린 시간: 컴파일, 시작, 응답",
  "of which compiling the program": "그중 프로그램 컴파일",
  "of which starting it and answering": "그중 시작과 응답",
  "`GET /health`, from another Worker": "다른 Worker에서 부른 `GET /health`",
  "CPU time of that, with the stores'": "그때의 CPU 시간, 저장소 포함",
  "`GET /api/v1/seeds/status`, warm, beside the same calls to D1, R2 and the queues":
    "워밍된 `GET /api/v1/seeds/status`, D1, R2, 큐를 똑같이 부르는 Worker와 비교",
  "`GET /api/v1/datasets/…` of 100 files, warm, beside the same calls to R2 and D1":
    "워밍된 `GET /api/v1/datasets/…`, 파일 100개, R2와 D1을 똑같이 부르는 Worker와 비교",
  "orchestrate 2000 finished files, warm": "끝난 파일 2000개의 오케스트레이션, 워밍된 상태",
  "a 20 MB raw file, 2,000 domains": "20 MB 원시 파일, 도메인 2,000개",
  "its growth of the runtime's memory": "그때 늘어난 런타임 메모리",
  "the same file uploaded in parts, which take the simulator longer":
    "같은 파일을 나누어 업로드한 경우(시뮬레이터가 더 오래 걸림)",
  "200 domains at 100 ms, 3 requests each, domains a second": "100 ms 걸리는 도메인 200개에 요청 3번씩, 초당 도메인",
  "their CPU time a domain": "도메인당 CPU 시간",
  "a 1 GB raw file read by a Worker in JavaScript, which does nothing with it":
    "1 GB 원시 파일을 아무 처리 없이 읽기만 하는 JavaScript Worker",
  "a 1 GB raw file, 2,000 domains, the engine alone": "1 GB 원시 파일, 도메인 2,000개, 엔진만",
  "a 1 GB raw file, 20,000 domains, the engine alone": "1 GB 원시 파일, 도메인 20,000개, 엔진만",
  "slow stores: orchestrate 200 finished files": "느린 저장소: 끝난 파일 200개의 오케스트레이션",
  "slow stores: a 20 MB raw file, 2,000 domains, beside reading it and sending as many batches":
    "느린 저장소: 20 MB 원시 파일, 도메인 2,000개, 읽기와 같은 수의 배치 전송만 하는 경우와 비교",
  "slow stores: a domain, until the checkpoint, beside what the hosts take":
    "느린 저장소: 도메인 하나, 체크포인트까지, 호스트가 쓰는 시간 제외",
  "slow stores: a domain, until the message is done, beside what the hosts take":
    "느린 저장소: 도메인 하나, 메시지 처리 완료까지, 호스트가 쓰는 시간 제외",
  "slow stores: a domain's calls in the same order by a Worker that computes nothing, beside what the hosts take":
    "느린 저장소: 아무것도 계산하지 않는 Worker가 도메인 하나의 호출을 같은 순서로 할 때, 호스트가 쓰는 시간 제외",
  "slow stores: 5 domains at once, until the checkpoint, beside what the hosts take":
    "느린 저장소: 도메인 5개 동시에, 체크포인트까지, 호스트가 쓰는 시간 제외",
  "slow stores: 5 domains at once, until the message is done, beside what the hosts take":
    "느린 저장소: 도메인 5개 동시에, 메시지 처리 완료까지, 호스트가 쓰는 시간 제외",
  "slow stores: status": "느린 저장소: status",
  "slow stores: a lease of ten URLs from the frontier": "느린 저장소: 프런티어에서 URL 열 개 임대",
  "a sitemap of 50 MB, parsed in WebAssembly": "WebAssembly에서 50 MB 사이트맵 파싱",
  "a sitemap with discovery, its URLs matched against robots.txt and analysed, in WebAssembly":
    "WebAssembly에서 사이트맵의 URL을 robots.txt와 대조하고 분석",
  "a URL of a sitemap analysed in WebAssembly": "WebAssembly에서 사이트맵의 URL 하나 분석",
  "the worst robots.txt of 500 KiB, with 50,000 URLs of 1,000 bytes, in WebAssembly":
    "WebAssembly에서 최악의 500 KiB robots.txt와 1,000바이트 URL 50,000개",
  "a URL classified in WebAssembly, each of another host": "WebAssembly에서 URL 분류, 모두 다른 호스트",
  "status, with 1,000,000 domains in D1": "D1에 도메인 1,000,000개가 있을 때의 status",
  "a lease of 100 URLs from a shard of the frontier with 100,000": "URL 100,000개가 있는 프런티어 샤드에서 100개 임대",
  "a lease of 100 URLs natively, of 1,000,000 URLs on 50,000 hosts, 200 scrapers":
    "네이티브에서 호스트 50,000개의 URL 1,000,000개 중 100개 임대, 스크레이퍼 200개",
  "impolite requests in this run": "이 실행에서 간격을 어긴 요청",
  "rows written for each of these URLs, leased and reported": "임대하고 보고한 이 URL당 쓴 행",
  "bytes stored for each of them": "URL당 저장한 바이트",
  "the module as it is deployed, compressed": "배포되는 모듈의 압축 크기",
};

const longestFirst = Object.keys(names).sort((a, b) => b.length - a.length);

const words = [
  [" (missed)", " (미달)"],
  ["linear memory", "선형 메모리"],
  ["× the peer", "× 비교 대상"],
  ["× reading it", "× 읽기만 하는 시간"],
  [" a second", "/초"],
];

/** A text of section() of readme.mjs in Korean. */
export const inKorean = (text) => text.split("\n").map(line).join("\n");

function line(english) {
  const measured = /^Measured on (.*), where a row does not say otherwise\.$/.exec(english);
  if (measured) return `따로 적지 않은 행은 ${measured[1]}에서 측정했습니다.`;
  const missed = /^(\d+) of (\d+) goals are missed; their rows say so\.$/.exec(english);
  if (missed) return `목표 ${missed[2]}개 중 ${missed[1]}개를 달성하지 못했고, 해당 행에 적혀 있습니다.`;
  const met = /^All (\d+) goals are met\.$/.exec(english);
  if (met) return `목표 ${met[1]}개를 모두 달성했습니다.`;
  if (english === "| what | engine | peer | ratio | goal |") return "| 항목 | 엔진 | 비교 대상 | 비율 | 목표 |";
  const name = longestFirst.find((one) => english.startsWith(`| ${one}`));
  const named = name ? `| ${names[name]}${english.slice(name.length + 2)}` : english;
  return words.reduce((text, [from, to]) => text.replaceAll(from, to), named);
}
