from support.stage import stages

__all__ = ["stages"]
