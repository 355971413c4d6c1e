"""One-token changes of C code, for scripts/mutants.

mutations(path, text) returns the changes that can be made to a file. It reads the file as tokens; it does not parse
C. It relies on the layout that clang-format gives the sources: a binary operator has a space on both sides, a unary one has none.

Only the bodies of functions are changed. Comments, strings, preprocessor lines, assertions, the declarations of types, and tables
(everything outside of functions, and 'static const' inside of them) stay as they are.
"""
import re

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      |(?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[a-zA-Z]*)
      |(?P<name>[A-Za-z_]\w*)
      |(?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\w\s])""", re.X | re.S)

# Each operator and what it becomes. An assignment operator follows its binary operator.
OPERATORS = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="],
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"], "&": ["|"], "|": ["&"], "^": ["|"],
    "<<": [">>"], ">>": ["<<"], "&&": ["||"], "||": ["&&"],
    "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="], "&=": ["|="], "|=": ["&="], "^=": ["|="],
    "<<=": [">>="], ">>=": ["<<="],
}
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "do", "else", "case", "default", "goto", "break", "continue", "alignof",
            "_Alignof", "offsetof", "va_arg"}
CONTROL = {"if", "for", "while", "switch", "FTH_JSON_EACH_ITEM", "FTH_JSON_EACH_MEMBER"}  # statements of the form: name (…) statement
TYPES = {"const", "static", "struct", "enum", "union", "unsigned", "signed", "typedef", "extern", "volatile", "_Atomic", "register", "inline"}
ASSERTIONS = {"assert", "static_assert", "_Static_assert"}
SYMMETRIC = {"FTH_MIN", "FTH_MAX", "fmin", "fmax", "calloc", "fth_arena_array"}  # swapping their arguments changes nothing
CLOSING = {"(": ")", "[": "]", "{": "}"}


class Token:
    """A token: its kind (text, number, name, sign), its text, and where it is in the file."""

    def __init__(self, kind, text, start):
        self.kind, self.text, self.start, self.end = kind, text, start, start + len(text)


class Mutation:
    """One change: the characters start to end of a file become `new`. `what` names the kind of the change."""

    def __init__(self, path, text, function, start, end, new, what):
        self.path, self.function, self.what = path, function, what
        self.text, self.start, self.end, self.new = text, start, end, new
        self.line = text.count("\n", 0, start) + 1
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", end)
        last = len(text) if last < 0 else last
        self.before = " ".join(text[first:last].split())
        self.after = " ".join((text[first:start] + new + text[end:last]).split())

    @property
    def new_text(self):
        """The whole file after the change, with the same line numbers."""
        removed_lines = self.text.count("\n", self.start, self.end) - self.new.count("\n")
        return self.text[:self.start] + self.new + "\n" * removed_lines + self.text[self.end:]

    @property
    def key(self):
        """Identifies the mutation as long as its line and function stay the same."""
        return self.path, self.function, self.before, self.after


def tokens_of(text):
    """Returns the tokens of a file, without comments and preprocessor lines."""
    # Preprocessor lines become spaces, so that positions stay valid.
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: re.sub(r"[^\n]", " ", match.group()), text, flags=re.M)
    return [Token(match.lastgroup, match.group(), match.start()) for match in TOKEN.finditer(text) if match.lastgroup != "space"]


def pair_brackets(tokens):
    """Returns a dictionary that maps the index of each bracket to the index of its counterpart."""
    pairs, stack = {}, []
    for index, token in enumerate(tokens):
        if token.text in CLOSING and token.kind == "sign":
            stack.append(index)
        elif token.text in CLOSING.values() and token.kind == "sign" and stack:
            opening = stack.pop()
            pairs[opening], pairs[index] = index, opening
    return pairs


def functions(tokens, pairs):
    """Yields (name, type of the result, index of '{', index of '}') for each function."""
    index, begin = 0, 0
    while index < len(tokens):
        text = tokens[index].text
        if text == "{" and tokens[index - 1].text == ")":
            opening = pairs[index - 1]
            result = " ".join(token.text for token in tokens[begin:opening - 1])
            yield tokens[opening - 1].text, result, index, pairs[index]
        if text in CLOSING:
            index = pairs[index]
        if tokens[index].text in (";", "}"):
            begin = index + 1
        index += 1


class Body:
    """The mutations of one function."""

    def __init__(self, path, text, tokens, pairs, function):
        self.path, self.text, self.tokens, self.pairs = path, text, tokens, pairs
        self.name, self.result, self.first, self.last = function
        self.found = []

    def add(self, start, end, new, what):
        self.found.append(Mutation(self.path, self.text, self.name, start, end, new, what))

    def source(self, first, last):
        """The text from the token `first` to the token `last`."""
        return self.text[self.tokens[first].start:self.tokens[last].end]

    def spaced(self, token):
        """Whether a sign is a binary operator."""
        return self.text[token.start - 1].isspace() and self.text[token.end].isspace()

    def statement_end(self, index):
        """The index of the ';' that ends the statement which begins at `index`."""
        while self.tokens[index].text != ";":
            index = self.pairs[index] + 1 if self.tokens[index].text in CLOSING else index + 1
        return index

    def skipped(self, index):
        """The index after a part that stays as it is and begins at `index`; `index` if no such part begins there."""
        texts = [token.text for token in self.tokens[index:index + 2]]
        if texts[0] in ASSERTIONS:
            return self.pairs[index + 1] + 1
        if texts == ["static", "const"]:
            return self.statement_end(index) + 1
        # The size of an array that is declared: type name [ size ].
        if texts[0] == "[" and self.tokens[index - 1].kind == "name" and self.tokens[index - 1].text not in KEYWORDS:
            before = self.tokens[index - 2]
            declares = before.kind == "name" and before.text not in KEYWORDS
            if declares or before.text == "*" and not self.spaced(before) and self.tokens[index - 3].kind == "name":
                return self.pairs[index] + 1
        return index

    def mutate(self):
        index = self.first + 1
        starts = True  # whether a statement begins here
        while index < self.last:
            after = self.skipped(index)
            if after != index:
                index, starts = after, self.ends_statement(after - 1)
                continue
            token = self.tokens[index]
            if starts:
                self.change_statement(index)
            if token.kind == "number":
                self.change_number(token)
            elif token.kind == "sign":
                self.change_sign(index)
            elif token.kind == "name":
                self.change_name(index)
            starts = self.ends_statement(index)
            index += 1
        return self.found

    def ends_statement(self, index):
        """Whether the token at `index` is the last one before a statement."""
        text = self.tokens[index].text
        if text in ("{", "}"):
            return self.is_block(min(index, self.pairs[index]))
        if text in ("else", "do"):
            return True
        if text == ";":
            return not self.in_for(index)
        if text == ":":
            return self.tokens[index - 1].kind == "name" and self.tokens[index - 2].text in (";", "}", "case")
        return text == ")" and self.is_control(self.pairs[index] - 1)

    def is_control(self, index):
        """Whether a statement follows the name at `index` and its brackets: if (…), for (…), or a macro such as FOR_EACH (…)."""
        name = self.tokens[index]
        if name.text in CONTROL:
            return True
        if name.kind != "name" or name.text in KEYWORDS or self.tokens[index + 1].text != "(":
            return False
        after = self.tokens[self.pairs[index + 1] + 1]
        return after.kind == "name" or after.text == "{"

    def is_block(self, opening):
        """Whether the '{' at `opening` begins a block of statements, not the values of an initializer."""
        return opening == self.first or self.ends_statement(opening - 1)

    def in_for(self, index):
        """Whether the ';' at `index` belongs to the head of a loop."""
        for opening in range(index, self.first, -1):
            if self.tokens[opening].text in ("{", "}"):
                return False
            if self.tokens[opening].text == "(" and self.pairs[opening] > index:
                return True
        return False

    def change_statement(self, index):
        first = self.tokens[index]
        second = self.tokens[index + 1]
        if first.text in ("break", "continue", "goto"):
            end = self.statement_end(index)
            self.add(first.start, self.tokens[end].end, ";", "statement deleted")
            return
        if first.text == "return":
            self.change_return(index)
            return
        if first.text == "FTH_TRY":
            closing = self.pairs[index + 1]
            self.add(first.start, self.tokens[closing].end, f"(void)!{self.source(index + 1, closing)}", "failure ignored")
            self.add(first.start, self.tokens[closing + 1].end, ";", "statement deleted")
            return
        declares = first.text in TYPES or first.kind == "name" and (second.kind == "name" or second.text == "*" or second.text == ":")
        if declares or first.text in KEYWORDS or self.is_control(index) or first.kind not in ("name", "sign") or first.text in ("{", "}", ";", "."):
            return
        if first.text == "(" and second.text == "void":
            return  # (void)unused;
        end = self.statement_end(index)
        if end < self.last:
            self.add(first.start, self.tokens[end].end, ";", "statement deleted")

    def change_return(self, index):
        end = self.statement_end(index)
        if end == index + 1:
            return
        start, stop = self.tokens[index + 1].start, self.tokens[end - 1].end
        value = self.text[start:stop]
        if "fth_status" in self.result:
            if value == "FTH_OK":
                self.add(start, stop, "FTH_INVALID", "result")
            else:
                self.add(start, stop, f"((void)({value}), FTH_OK)", "result")
        elif "bool" in self.result.split() and "*" not in self.result:
            new = {"true": "false", "false": "true"}.get(value, f"!({value})")
            self.add(start, stop, new, "result")

    def change_number(self, token):
        match = re.fullmatch(r"(\d+)([uUlL]*)", token.text)
        if match and (len(match.group(1)) == 1 or match.group(1)[0] != "0"):
            value = int(match.group(1))
            values = {0: [1], 1: [0, 2]}.get(value, [value - 1, value + 1])
            for new in values:
                self.add(token.start, token.end, f"{new}{match.group(2)}", "constant")
        elif re.fullmatch(r"0[xX][0-9a-fA-F]+[uUlL]*", token.text):
            self.add(token.start, token.end, f"({token.text} - 1)", "constant")
        elif re.fullmatch(r"[\d.]+(?:[eE][+-]?\d+)?", token.text):
            self.add(token.start, token.end, f"({token.text} + 1)", "constant")

    def change_sign(self, index):
        token = self.tokens[index]
        if token.text in OPERATORS and self.spaced(token):
            for new in OPERATORS[token.text]:
                self.add(token.start, token.end, new, "operator")
        elif token.text == "!":
            self.add(token.start, token.end, "", "negation dropped")

    def change_name(self, index):
        name = self.tokens[index].text
        if self.tokens[index + 1].text != "(" or self.tokens[index + 1].kind != "sign":
            return
        closing = self.pairs[index + 1]
        if name in ("if", "while"):
            start, stop = self.tokens[index + 2].start, self.tokens[closing - 1].end
            if name == "if":
                self.add(start, stop, "1", "condition forced")
            self.add(start, stop, "0", "condition forced")
        elif name not in KEYWORDS and not self.is_control(index) and name not in SYMMETRIC and closing > index + 2:
            self.swap_arguments(index + 1, closing)

    def swap_arguments(self, opening, closing):
        arguments, first, index = [], opening + 1, opening + 1
        while index <= closing:
            if index == closing or self.tokens[index].text == ",":
                arguments.append((first, index - 1))
                first = index + 1
            index = self.pairs[index] + 1 if self.tokens[index].text in CLOSING else index + 1
        if self.tokens[opening - 1].text in ("strcmp", "memcmp") and self.tokens[closing + 1].text in ("==", "!="):
            return  # only the order of unequal texts depends on the order of the arguments
        for (first, last), (next_first, next_last) in zip(arguments, arguments[1:]):
            one, other = self.source(first, last), self.source(next_first, next_last)
            if one != other and '"' not in one + other:
                between = self.text[self.tokens[last].end:self.tokens[next_first].start]
                self.add(self.tokens[first].start, self.tokens[next_last].end, other + between + one, "arguments swapped")


def mutations(path, text):
    """Returns the mutations of a file."""
    tokens = tokens_of(text)
    pairs = pair_brackets(tokens)
    found = []
    for function in functions(tokens, pairs):
        found += Body(path, text, tokens, pairs, function).mutate()
    return found
