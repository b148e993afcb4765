module skerry.dev/skerry/testenv/image

go 1.26.0
