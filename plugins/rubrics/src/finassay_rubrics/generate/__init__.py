"""Stage 3: from a frozen budget to a rubric. A writer finds values, code checks them, a reviewer of another family finds them again."""
