import { Frontier } from "newsfork";

const frontier = new Frontier({ country: "sg", untilIdle: process.argv.includes("--until-idle") });
await frontier.run(({ url, title }) => {
  console.log(JSON.stringify({ url, title }));
});
