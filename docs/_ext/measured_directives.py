"""How Sphinx shows measured figures, published results and benchmarks."""

from __future__ import annotations

from docutils import nodes
from docutils.statemachine import StringList
from measured import BENCHMARKS, ROOT, markdown, measured, places, published, rivals
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


class Published(_FromMarkdown):
    """A part of the summary of the published results, or the table of a paper."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the part."""
        return self._nodes(published(self.arguments[0]), self.arguments[0])


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
        begin = nodes.raw("", f"<details><summary>{self.arguments[0]}</summary>", format="html")
        return [begin, holder, nodes.raw("", "</details>", format="html")]
