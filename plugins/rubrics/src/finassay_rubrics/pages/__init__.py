"""A rubric to be read: Markdown, and a page of HTML without scripts."""
