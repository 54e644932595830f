"""The main job: judges the papers' claims and compares with the reviewed verdicts."""
