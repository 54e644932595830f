"""A scan in words."""
def plain_text(scan):
    import json
    return json.dumps(scan, indent=1)
