"""Figures of guides and gallery: the figure that a block of code ends with. Our figures don't go through pyplot."""

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def _get_sg_image_scraper() -> Any:
    return save


def save(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figure for ordinary and for high-density screens; return the reStructuredText that shows it."""
    names = block_vars["example_globals"]
    figure = names.get("___")  # the value of the last expression, kept until another block has one
    if not isinstance(figure, Figure) or figure is names.get("__shown"):
        return figure_rst([], gallery_conf["src_dir"])
    names["__shown"] = figure
    path = block_vars["image_path_iterator"].next()
    figure.savefig(path, dpi=110)
    dense = f"{path[:-4]}_2_00x.png"
    figure.savefig(dense, dpi=220)
    described = " ".join(part for part in (figure.get_suptitle(), *_titles(figure)) if part) or "figure"
    return figure_rst([path], gallery_conf["src_dir"], described.replace("\n", " "), [{0: path, 2: dense}])


def _titles(figure: Figure) -> list[str]:
    return [ax.get_title(loc="left") or ax.get_title() for ax in figure.axes[:1]]
