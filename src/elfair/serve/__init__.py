"""The workbench in the browser: a folder with a study, seen and worked on in pages.

Whatever a page does is a change to a file of the folder, or a command ``elfair``; both are shown
before they are made. Nothing exists here that the command line cannot do.
"""

from elfair.serve.server import serve
