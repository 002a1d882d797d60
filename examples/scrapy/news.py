from newsfork import FrontierSpider


class News(FrontierSpider):
    name = "news"
    lease = {"country": "sg"}

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield from response.follow_all(css="a[href]")
