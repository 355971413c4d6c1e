"""Converts the Markdown of fathom's pages to HTML.

It knows what the pages use: headings, paragraphs, lists in lists, tables with alignment, code blocks (fenced or indented by four
columns), and in texts code, bold, italics, links, pictures, backslashes before punctuation and <sub>. Comments are dropped. Anchors
of headings are those of GitHub and GitLab. Everything else is text. `resolve` maps the target of a link or picture to an address.
"""
import html
import re

FENCE = re.compile(r"^( *)```(.*)$")
HEADING = re.compile(r"^(#{1,6}) +(.*?)\s*$")
ITEM = re.compile(r"^( *)([-*+]|\d+[.)])( +)(?=\S)")
RULE = re.compile(r"^\|?[ :|-]*-[ :|-]*\|?$")
# Code spans are replaced first, so that nothing in them counts as markup.
CODE = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)", re.S)
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
ADDRESS = re.compile(r"&lt;(https?://[^\s&]+)&gt;")
BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", re.S)
ITALIC = re.compile(r"(?<!\*)\*(?=[^\s*])([^*]*?[^\s*])\*(?!\*)", re.S)
TAG = re.compile(r"&lt;(/?su[bp])&gt;")


def anchor(heading):
    """Returns the name that GitHub and GitLab give to a heading."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", heading).strip().lower()).replace(" ", "-")


class Converter:
    """Converts one page. After convert(), `headings` has (level, anchor, HTML of the text) of each heading."""

    def __init__(self, resolve):
        self.resolve = resolve
        self.headings = []
        self.anchors = set()

    # ---- texts ----

    def inline(self, text):
        """Returns the HTML of a text without blocks."""
        kept = []

        def keep(piece):
            kept.append(piece)
            return f"\x00{len(kept) - 1}\x00"

        text = CODE.sub(lambda match: keep(f"<code>{html.escape(self.unquote(match[2]), quote=False)}</code>"), text)
        text = re.sub(r"\\([!-/:-@\[-`{-~])", lambda match: keep(html.escape(match[1])), text)
        text = html.escape(text, quote=False)
        text = PICTURE.sub(lambda match: keep(self.picture(match[1], match[2])), text)
        text = ADDRESS.sub(lambda match: keep(f'<a href="{match[1]}">{match[1]}</a>'), text)
        text = LINK.sub(lambda match: keep(f'<a href="{html.escape(self.resolve(html.unescape(match[2])))}">') + match[1] + keep("</a>"), text)
        text = TAG.sub(r"<\1>", text)
        text = BOLD.sub(r"<strong>\1</strong>", text)
        text = ITALIC.sub(r"<em>\1</em>", text)
        while "\x00" in text:
            text = re.sub(r"\x00(\d+)\x00", lambda match: kept[int(match[1])], text)
        return text

    @staticmethod
    def unquote(code):
        """A code span may start and end with a space, so that it can contain backticks; line ends are spaces."""
        code = code.replace("\n", " ")
        return code[1:-1] if code.startswith(" ") and code.endswith(" ") and code.strip() else code

    def picture(self, text, target):
        text = html.escape(" ".join(html.unescape(text).split()))
        return f'<img src="{html.escape(self.resolve(target))}" alt="{text}" loading="lazy">'

    # ---- blocks ----

    def convert(self, text):
        """Returns the HTML of a page."""
        text = re.sub(r"(?m)^<!--.*?-->[ \t]*\n?", "", text.replace("\r\n", "\n"), flags=re.S)
        return "\n".join(self.blocks(text.split("\n")))

    def blocks(self, lines):
        """Yields the HTML of each block."""
        position = 0
        while position < len(lines):
            line = lines[position]
            if not line.strip():
                position += 1
            elif FENCE.match(line):
                position, block = self.fenced(lines, position)
                yield block
            elif line.startswith("    "):
                position, block = self.indented(lines, position)
                yield block
            elif HEADING.match(line):
                position += 1
                yield self.heading(HEADING.match(line))
            elif line.startswith("|") and position + 1 < len(lines) and RULE.match(lines[position + 1]):
                position, block = self.table(lines, position)
                yield block
            elif ITEM.match(line):
                position, block = self.list(lines, position)
                yield block
            else:
                position, block = self.paragraph(lines, position)
                yield block

    def heading(self, match):
        level, text = len(match[1]), match[2]
        name, number = anchor(text), 0
        while (name if number == 0 else f"{name}-{number}") in self.anchors:
            number += 1
        name = name if number == 0 else f"{name}-{number}"
        self.anchors.add(name)
        content = self.inline(text)
        self.headings.append((level, name, content))
        return f'<h{level} id="{html.escape(name)}">{content}</h{level}>'

    @staticmethod
    def fenced(lines, start):
        indent, language = len(FENCE.match(lines[start])[1]), FENCE.match(lines[start])[2].strip()
        end = start + 1
        while end < len(lines) and not re.match(r"^ *```\s*$", lines[end]):
            end += 1
        code = "\n".join(line[min(indent, len(line) - len(line.lstrip())):] for line in lines[start + 1:end])
        kind = f' class="language-{html.escape(language)}"' if language else ""
        return end + 1, f"<pre><code{kind}>{html.escape(code, quote=False)}\n</code></pre>"

    @staticmethod
    def indented(lines, start):
        end = start
        while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
            end += 1
        code = "\n".join(line[4:] for line in lines[start:end]).rstrip()
        return end, f"<pre><code>{html.escape(code, quote=False)}\n</code></pre>"

    @staticmethod
    def cells(line):
        """Splits a row at bars that are neither escaped nor in code. The bar of an escaped one stays in code, too."""
        line = line.strip()
        line = line[1:] if line.startswith("|") else line
        line = line[:-1] if line.endswith("|") and not line.endswith("\\|") else line
        return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)]

    def table(self, lines, start):
        titles, rules = self.cells(lines[start]), self.cells(lines[start + 1])
        styles = [' class="right"' if rule.endswith(":") and not rule.startswith(":") else
                  ' class="center"' if rule.startswith(":") and rule.endswith(":") else "" for rule in rules]
        end = start + 2
        while end < len(lines) and lines[end].startswith("|"):
            end += 1

        def row(cells, kind):
            cells = (cells + [""] * len(titles))[:len(titles)]
            return "<tr>" + "".join(f"<{kind}{style}>{self.inline(cell)}</{kind}>" for cell, style in zip(cells, styles)) + "</tr>"

        body = "\n".join(row(self.cells(line), "td") for line in lines[start + 2:end])
        return end, f'<div class="table"><table>\n<thead>{row(titles, "th")}</thead>\n<tbody>\n{body}\n</tbody></table></div>'

    def list(self, lines, start):
        """A list of one kind. An item continues with lines that are indented as far as its text, or follow without a blank line."""
        first = ITEM.match(lines[start])
        base, ordered = len(first[1]), first[2][0].isdigit()
        items, loose, position = [], False, start
        while position < len(lines):
            match = ITEM.match(lines[position])
            if not match or len(match[1]) != base or match[2][0].isdigit() != ordered:
                break
            width, item = match.end(), [lines[position][match.end():]]
            position += 1
            blank = False
            while position < len(lines):
                line = lines[position]
                if not line.strip():
                    blank = True
                    item.append("")
                elif len(line) - len(line.lstrip()) >= width or (len(line) - len(line.lstrip()) > base and ITEM.match(line)):
                    item.append(line[width:] if not line[:width].strip() else line.lstrip())
                    blank = False
                elif blank or ITEM.match(line) or HEADING.match(line) or line.startswith(("|", "```")):
                    break
                else:
                    item.append(line.strip())
                position += 1
            loose = loose or "" in "\n".join(item).strip("\n").split("\n")
            items.append(item)
        content = "\n".join(f"<li>{self.item(item, loose)}</li>" for item in items)
        number = int(re.match(r"\d+", first[2])[0]) if ordered else 1
        opening = f'ol start="{number}"' if ordered and number != 1 else "ol" if ordered else "ul"
        return position, f"<{opening}>\n{content}\n</{opening.split()[0]}>"

    def item(self, lines, loose):
        """The blocks of an item. The paragraphs of a list without blank lines are not marked as such."""
        blocks = list(self.blocks(lines))
        if not loose:
            blocks = [re.sub(r"^<p>(.*)</p>$", r"\1", block, flags=re.S) for block in blocks]
        return "\n".join(blocks)

    def paragraph(self, lines, start):
        end = start
        while end < len(lines) and lines[end].strip():
            line = lines[end]
            # As in CommonMark, a number other than 1 at the start of a line does not begin a list in a paragraph.
            match = ITEM.match(line)
            starts_list = match and (not match[2][0].isdigit() or match[2][:-1] == "1")
            starts_table = line.startswith("|") and end + 1 < len(lines) and RULE.match(lines[end + 1])
            if end > start and (FENCE.match(line) or HEADING.match(line) or starts_list or starts_table):
                break
            end += 1
        return end, f"<p>{self.inline(chr(10).join(line.strip() for line in lines[start:end]))}</p>"
