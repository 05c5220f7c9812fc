"""How Sphinx shows measured figures, claims and benchmarks."""

from __future__ import annotations

from docutils import nodes
from docutils.statemachine import StringList
from measured import BENCHMARKS, ROOT, claims_page, markdown, measured, places, rivals
from sphinx.util.docutils import SphinxDirective, SphinxRole


class MeasuredRole(SphinxRole):
    """A figure by its name in measured.toml."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the figure as a piece of text."""
        text = measured(self.text)
        self.env.note_dependency(str(ROOT / places()[self.text]["file"]))
        return [nodes.inline(text, text, classes=["measured"])], []


class _FromMarkdown(SphinxDirective):
    """A directive that writes Markdown in its place."""

    def _nodes(self, text: str, source: str) -> list[nodes.Node]:
        holder = nodes.container()
        self.state.nested_parse(StringList(text.splitlines(), source), 0, holder)
        return holder.children


class RivalsTable(_FromMarkdown):
    """The table of rivals."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        return self._nodes(markdown(rivals()), "beyond_false_zeros.csv")


class ClaimsOf(_FromMarkdown):
    """All claims of the experiments whose names begin with the argument."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a section for each experiment."""
        holder = nodes.section()
        holder.document = self.state.document
        text = claims_page(self.arguments[0])
        self.state.nested_parse(StringList(text.splitlines(), self.arguments[0]), 0, holder, match_titles=True)
        return holder.children


class BenchmarkTables(_FromMarkdown):
    """The stored tables of a benchmark, their headings one level down."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return its sections."""
        text = (BENCHMARKS / f"{self.arguments[0]}.md").read_text(encoding="utf-8")
        text = "\n".join("#" + line if line.startswith("#") else line for line in text.splitlines())
        holder = nodes.section()
        holder.document = self.state.document
        self.state.nested_parse(StringList(text.splitlines(), self.arguments[0]), 0, holder, match_titles=True)
        return holder.children


class DropdownLike(SphinxDirective):
    """A collapsible part of a page: `<details>`."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the content between the two ends of the element."""
        holder = nodes.container(classes=["folded"])
        self.state.nested_parse(self.content, self.content_offset, holder)
        opened = "" if self.arguments[0].startswith("Not ") else " open"
        begin = nodes.raw("", f"<details{opened}><summary>{self.arguments[0]}</summary>", format="html")
        return [begin, holder, nodes.raw("", "</details>", format="html")]
