project = "Lantern"
extensions = ["sphinx_sitemap"]
html_baseurl = "https://www.lantern.example/"
language = "en"
