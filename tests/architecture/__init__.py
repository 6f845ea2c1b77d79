"""Rules about the source itself: sizes, habits, locks."""
