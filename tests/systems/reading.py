"""What every reader of Python shares: it prints the addresses that it finds from each form, or the name of its error."""
import json
import sys

ORIGIN = sys.argv[1]


def read(reader, *forms):
    """Prints what a reader finds from each of the forms."""
    print(json.dumps({form: attempt(reader, f"{ORIGIN}/{form.split()[0]}") for form in forms}))


def attempt(reader, url):
    try:
        return list(reader(url))
    except Exception as error:
        return f"error: {type(error).__name__}"
