"""Figures of data sets, trainings and reports, with matplotlib."""
