python3 - <<'P'
text = open("words.py").read()
text = text.replace("import collections\n", "import collections\nimport json\n")
text = text.replace('    options = parser', '    parser.add_argument("--json", action="store_true", help="print a JSON object")\n    options = parser')
text = text.replace('    for word, number', '    if options.json:\n        print(json.dumps(dict(counts.most_common(options.most))))\n        return\n    for word, number')
open("words.py", "w").write(text)
readme = open("README.md").read()
open("README.md", "w").write(readme.replace("[--most N]", "[--most N] [--json]"))
P
