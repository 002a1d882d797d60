import scrapy


class News(scrapy.Spider):
    name = "news"
    custom_settings = {"SCHEDULER": "newsfork.scrapy.Scheduler", "NEWSFORK_COUNTRY": "sg"}

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield from response.follow_all(css="a[href]")
